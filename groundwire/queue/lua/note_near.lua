-- Notes in a bucket of like questions which answer one has, unless the bucket is full. In one step: a bucket without an
-- end would stay for ever.
local BUCKET = KEYS[1]
local question, answer, most, ttl_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

if redis.call('HLEN', BUCKET) >= most then return 0 end
redis.call('HSET', BUCKET, question, answer)
redis.call('PEXPIRE', BUCKET, ttl_ms)
return 1
