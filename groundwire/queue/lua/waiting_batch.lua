-- Returns how many jobs of class 'batch' are in line.
local count = 0
for _, caller in ipairs(redis.call('ZRANGE', turns_of('batch'), 0, -1)) do
  count = count + redis.call('ZCARD', line_of('batch', caller))
end
return count
