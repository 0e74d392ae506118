-- Returns {now_ms, {worker, seen_ms, ...}, {worker, record, ...}}, read at once by one clock.
local time = redis.call('TIME')
return {
  time[1] * 1000 + math.floor(time[2] / 1000),
  redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'),
  redis.call('HGETALL', KEYS[2]),
}
