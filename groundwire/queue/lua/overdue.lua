-- Lists, by {id, nonce, kind, crashes}, the jobs of a partition that nobody else may end: 'expired', or 'exhausted' (the
-- lease of their last allowed attempt ended). KEYS[1] is the beginning of the jobs' keys. Mends what eviction left.
local grace_ms, most = tonumber(ARGV[1]), tonumber(ARGV[2])

local now = now_ms()
local found, seen = {}, {}
local function look_at(id, set)
  if seen[id] then return end
  seen[id] = true
  local job = redis.call('HMGET', KEYS[1] .. id, 'nonce', 'state', 'deadline_ms', 'lease_until_ms', 'crashes', 'max_crashes',
    'alone', 'shared')
  if not job[1] then
    redis.call('ZREM', set, id)  -- evicted, or ended and this is what is left: nothing else would remove it
    return
  end
  if tonumber(job[3]) + grace_ms < now then
    found[#found + 1] = {id, job[1], 'expired', 0}
  elseif job[2] == 'running' and tonumber(job[4]) + grace_ms < now and (job[7] or not job[8]) then
    local crashes = tonumber(job[5]) + 1
    if crashes >= tonumber(job[6]) then found[#found + 1] = {id, job[1], 'exhausted', crashes} end
  end
end

for _, set in ipairs({WAITING, RUNNING}) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, most)) do look_at(id, set) end
end
for _, id in ipairs(redis.call('ZRANGE', RUNNING, 0, most - 1)) do look_at(id, RUNNING) end

-- Every job in line needs a ticket that is bound to no other; they are only ever missing when the stream was evicted.
for _ = redis.call('XLEN', JOBS) - redis.call('ZCARD', RUNNING) + 1, redis.call('ZCARD', WAITING) do add_ticket() end
return found
