-- Removes a dead letter with all that is known of it, unless it is newer than `before_ms`. Returns 1 when it did.
local id, before_ms = ARGV[1], ARGV[2]

local dead_ms = redis.call('ZSCORE', DEAD, id)
if not dead_ms or before_ms ~= '' and tonumber(dead_ms) > tonumber(before_ms) then return 0 end
redis.call('ZREM', DEAD, id)
if redis.call('HGET', JOB, 'outcome') == 'DEAD_LETTER' then redis.call('DEL', JOB, EVENTS) end
return 1
