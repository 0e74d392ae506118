-- Which job is next, for the scripts that put jobs in line or take them out. Callers take turns, one job each; jobs of
-- class 'interactive' go before those of 'batch', but never so many in a row that a batch job waits for ever.
local INTERACTIVE_IN_A_ROW = 4
local COUNTERS = PREFIX .. 'counters'

local function turns_of(class) return PREFIX .. 'turns:' .. class end
local function line_of(class, caller) return PREFIX .. 'line:' .. class .. ':' .. caller end

-- A job keeps its `arrival`, so one that comes back is again before the later ones of its caller.
local function join_line(id, class, caller, arrival)
  redis.call('ZADD', line_of(class, caller), arrival, id)
  if not redis.call('ZSCORE', turns_of(class), caller) then
    redis.call('ZADD', turns_of(class), redis.call('HINCRBY', COUNTERS, 'turn', 1), caller)
  end
end

local function leave_line(id, class, caller)
  redis.call('ZREM', line_of(class, caller), id)
  if redis.call('EXISTS', line_of(class, caller)) == 0 then redis.call('ZREM', turns_of(class), caller) end
end

local function first_of(class)
  while true do
    local caller = redis.call('ZRANGE', turns_of(class), 0, 0)[1]
    if not caller then return nil end
    local id = redis.call('ZRANGE', line_of(class, caller), 0, 0)[1]
    if id and is_whole(PREFIX .. 'job:' .. id) and redis.call('EXISTS', PREFIX .. 'events:' .. id) == 1 then
      return id, class, caller
    end
    leave_line(id or '', class, caller)  -- whoever waits for it is told that it is lost
    if id then
      redis.call('ZREM', WAITING, id)
      redis.call('DEL', PREFIX .. 'job:' .. id)
    end
  end
end

local function next_in_line()
  local in_a_row = tonumber(redis.call('HGET', COUNTERS, 'in_a_row') or 0)
  local first, second = 'interactive', 'batch'
  if in_a_row >= INTERACTIVE_IN_A_ROW then first, second = second, first end
  local id, class, caller = first_of(first)
  if id then return id, class, caller end
  return first_of(second)
end

local function take_turn(id, class, caller)
  leave_line(id, class, caller)
  if redis.call('ZSCORE', turns_of(class), caller) then
    redis.call('ZADD', turns_of(class), redis.call('HINCRBY', COUNTERS, 'turn', 1), caller)
  end
  if class == 'batch' then
    redis.call('HSET', COUNTERS, 'in_a_row', 0)
  else
    redis.call('HINCRBY', COUNTERS, 'in_a_row', 1)
  end
end
