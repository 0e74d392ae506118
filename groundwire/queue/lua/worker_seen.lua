-- Records a worker's sign of life by Redis's clock and forgets workers that have been silent for long.
local SEEN, RECORDS = KEYS[1], KEYS[2]
local worker, record, keep_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', SEEN, now, worker)
redis.call('HSET', RECORDS, worker, record)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', SEEN, '-inf', now - keep_ms)) do
  redis.call('ZREM', SEEN, gone)
  redis.call('HDEL', RECORDS, gone)
end
return now
