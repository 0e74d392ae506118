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
  if job.err or not (job[1] and job[3] and job[6]) or job[2] == 'running' and not job[4] then
    -- Evicted, ended and this is what is left, or no job at all: nothing else would remove it.
    redis.call('ZREM', WAITING, id)
    redis.call('ZREM', RUNNING, id)
    return
  end
  if tonumber(job[3]) + grace_ms < now then
    found[#found + 1] = {id, job[1], 'expired', 0}
  elseif job[2] == 'running' and tonumber(job[4]) + grace_ms < now and (job[7] or not job[8]) then
    local crashes = tonumber(job[5]) + 1
    if crashes >= tonumber(job[6]) then found[#found + 1] = {id, job[1], 'exhausted', crashes} end
  end
end

-- No time lies further ahead than when it was set, unless Redis's clock was set back since: then a dead worker's job would
-- be its own, and its caller wait, for as long as that took back.
local function bring_near(id, set)
  local job = redis.pcall('HMGET', KEYS[1] .. id, 'state', 'deadline_ms', 'timeout_ms', 'lease_until_ms', 'lease_ms', 'worker',
    'entry')
  if job.err then return end
  if job[2] and job[3] and tonumber(job[2]) - now > tonumber(job[3]) then
    redis.call('HSET', KEYS[1] .. id, 'deadline_ms', now + job[3])
    redis.call('ZADD', set, now + job[3], id)
  end
  if job[1] == 'running' and job[5] and tonumber(job[4]) - now > tonumber(job[5]) then
    redis.call('HSET', KEYS[1] .. id, 'lease_until_ms', now + job[5])
    -- Workers find what was silent for long; this is silent from now on. pcall: the group may have been destroyed.
    redis.pcall('XCLAIM', JOBS, GROUP, job[6], 0, job[7], 'IDLE', 0, 'JUSTID')
  end
end

for _, set in ipairs({WAITING, RUNNING}) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, most)) do look_at(id) end
  for _, id in ipairs(redis.call('ZREVRANGE', set, 0, most - 1)) do bring_near(id, set) end
end
for _, id in ipairs(redis.call('ZRANGE', RUNNING, 0, most - 1)) do look_at(id) end

-- Every job in line needs a ticket that is bound to no other; they are only ever missing when the stream was evicted.
for _ = redis.call('XLEN', JOBS) - redis.call('ZCARD', RUNNING) + 1, redis.call('ZCARD', WAITING) do add_ticket() end
return found
