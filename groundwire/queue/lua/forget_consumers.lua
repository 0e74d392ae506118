-- Removes consumers that nothing is pending for and that have been silent for a time: workers' names are never used
-- again. (XGROUP DELCONSUMER by itself would lose what is pending.) Returns how many went.
local JOBS, GROUP = KEYS[1], 'workers'
local only, idle_ms = ARGV[1], tonumber(ARGV[2])

local removed = 0
local consumers = redis.pcall('XINFO', 'CONSUMERS', JOBS, GROUP)
if consumers.err then return 0 end  -- no stream or no group yet
for _, fields in ipairs(consumers) do
  local consumer = {}
  for i = 1, #fields, 2 do consumer[fields[i]] = fields[i + 1] end
  if consumer.pending == 0 and consumer.idle >= idle_ms and (only == '' or consumer.name == only) then
    redis.call('XGROUP', 'DELCONSUMER', JOBS, GROUP, consumer.name)
    removed = removed + 1
  end
end
return removed
