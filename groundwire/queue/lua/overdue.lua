-- Lists, by {id, nonce, kind, crashes}, the jobs of a partition that nobody else may end: 'expired', or 'exhausted' (the
-- lease of their last allowed attempt ended). KEYS[1] is the beginning of the jobs' keys. Mends what eviction and a
-- clock that was set back have left.
local grace_ms, most = tonumber(ARGV[1]), tonumber(ARGV[2])

local now = now_ms()
local found, seen = {}, {}
local function look_at(id)
  if seen[id] then return end
  seen[id] = true
  local job = redis.pcall('HMGET', KEYS[1] .. id, 'nonce', 'state', 'deadline_ms', 'lease_until_ms', 'crashes', 'max_crashes',
    'alone', 'shared')
  local deadline_ms, lease_until_ms = tonumber(job[3]), tonumber(job[4])
  local crashes, max_crashes = tonumber(job[5]), tonumber(job[6])
  if not is_whole(KEYS[1] .. id) or not job[1] or job[2] == 'running' and not lease_until_ms then
    -- Ended and this is what is left, or lost, or no job at all: nothing else would remove it.
    redis.call('ZREM', WAITING, id)
    redis.call('ZREM', RUNNING, id)
    if not job.err and job[2] ~= 'ended' then redis.call('DEL', KEYS[1] .. id) end
    return
  end
  if deadline_ms + grace_ms < now then
    found[#found + 1] = {id, job[1], 'expired', 0}
  elseif job[2] == 'running' and lease_until_ms + grace_ms < now and (job[7] or not job[8]) then
    if crashes + 1 >= max_crashes then found[#found + 1] = {id, job[1], 'exhausted', crashes + 1} end
  end
end

-- No time lies further ahead than when it was set, unless Redis's clock was set back since: then a dead worker's job would
-- be its own, and its caller wait, for as long as that took back.
local function bring_near(id, set)
  local job = redis.pcall('HMGET', KEYS[1] .. id, 'state', 'deadline_ms', 'timeout_ms', 'lease_until_ms', 'lease_ms', 'worker',
    'entry')
  if job.err then return end
  local deadline_ms, timeout_ms = tonumber(job[2]), tonumber(job[3])
  local lease_until_ms, lease_ms = tonumber(job[4]), tonumber(job[5])
  if deadline_ms and timeout_ms and deadline_ms - now > timeout_ms then
    redis.call('HSET', KEYS[1] .. id, 'deadline_ms', now + timeout_ms)
    redis.call('ZADD', set, now + timeout_ms, id)
  end
  if job[1] == 'running' and lease_until_ms and lease_ms and lease_until_ms - now > lease_ms then
    redis.call('HSET', KEYS[1] .. id, 'lease_until_ms', now + lease_ms)
    -- Workers find what was silent for long; this is silent from now on. pcall: the group may have been destroyed.
    if job[6] and job[7] then redis.pcall('XCLAIM', JOBS, GROUP, job[6], 0, job[7], 'IDLE', 0, 'JUSTID') end
  end
end

for _, set in ipairs({WAITING, RUNNING}) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, most)) do look_at(id) end
  for _, id in ipairs(redis.call('ZREVRANGE', set, 0, most - 1)) do bring_near(id, set) end
end
for _, id in ipairs(redis.call('ZRANGE', RUNNING, 0, most - 1)) do
  bring_near(id, RUNNING)
  look_at(id)
end

-- So with the tickets that were delivered and never claimed. XPENDING says 0 of what was delivered in the future as of
-- what was delivered just now, which this leaves as it is.
for _, ticket in ipairs(redis.pcall('XPENDING', JOBS, GROUP, '-', '+', most)) do  -- none if there is no group
  if ticket[3] == 0 then redis.pcall('XCLAIM', JOBS, GROUP, ticket[2], 0, ticket[1], 'IDLE', 0, 'JUSTID') end
end

-- Every job in line needs a ticket that is bound to no other; they are only ever missing when the stream was evicted.
for _ = redis.call('XLEN', JOBS) - redis.call('ZCARD', RUNNING) + 1, redis.call('ZCARD', WAITING) do add_ticket() end
return found
