-- Gives the job of a ticket, or the next in line, to a worker: the only one that may write to it until its lease ends.
-- KEYS[1] and KEYS[2] are the beginnings of the jobs' keys, as the job is only found here.
-- Returns {'claimed', id, attempt, sequence, job, alone, remaining_ms}, {'dropped'} (nothing to do, ticket gone), {'held'}
-- (somebody else's), {'expired', id, nonce} or {'exhausted', id, nonce, crashes}: to be ended by the caller with that
-- nonce, who then claims with the same ticket again.
local entry, worker, nonce, lease_ms, is_takeover = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1'
local FIELDS = {'state', 'entry', 'nonce', 'lease_until_ms', 'deadline_ms', 'crashes', 'max_crashes', 'attempt',
  'sequence', 'job', 'alone', 'shared', 'worker'}

local function read_job(id)
  JOB, EVENTS = KEYS[1] .. id, KEYS[2] .. id
  local values, job = redis.call('HMGET', JOB, unpack(FIELDS)), {}
  for i, name in ipairs(FIELDS) do job[name] = values[i] end
  return job
end

local now = now_ms()
local id = redis.call('HGET', TICKETS, entry)
local job, alone
local crashes = 0
if id then
  job = read_job(id)
  if not job.state or job.state == 'ended' or job.entry ~= entry then
    forget_ticket(entry)
    return {'dropped'}
  end
  if job.nonce == nonce then  -- this very call, sent twice
    return {'claimed', id, tonumber(job.attempt), tonumber(job.sequence), job.job, job.alone or '0',
      tonumber(job.deadline_ms) - now}
  end
  if not is_whole(JOB) or not tonumber(job.lease_until_ms) then
    redis.call('DEL', JOB)  -- whoever waits for it is told that it is lost
    redis.call('ZREM', RUNNING, id)
    forget_ticket(entry)
    return {'dropped'}
  end
  if tonumber(job.lease_until_ms) > now then return {'held'} end
  -- A drained worker hands its job back, so whoever let a lease end has crashed. Which of several jobs made it crash
  -- is not known: none is blamed, and each runs alone from now on, where it can harm no other.
  crashes = tonumber(job.crashes)
  if job.alone or not job.shared then crashes = crashes + 1 end
  alone = '1'
  if tonumber(job.deadline_ms) <= now then return {'expired', id, job.nonce} end
  if crashes >= tonumber(job.max_crashes) then return {'exhausted', id, job.nonce, crashes} end
  redis.call('SREM', held_by(job.worker), id)
else
  -- Delivered and never claimed. Whoever it was delivered to has been silent for a lease, or it is this worker's own;
  -- a ticket that is pending no more must not be bound, as nobody would find it after a crash.
  local min_idle_ms = is_takeover and lease_ms or 0
  if #redis.call('XCLAIM', JOBS, GROUP, worker, min_idle_ms, entry, 'JUSTID') == 0 then return {'held'} end
  local class, caller
  id, class, caller = next_in_line()
  if not id then
    forget_ticket(entry)
    return {'dropped'}
  end
  job = read_job(id)
  if tonumber(job.deadline_ms) <= now then return {'expired', id, job.nonce} end
  take_turn(id, class, caller)
  crashes, alone = tonumber(job.crashes), job.alone
  redis.call('HSET', TICKETS, entry, id)
end

redis.call('XCLAIM', JOBS, GROUP, worker, 0, entry, 'JUSTID')
local attempt = tonumber(job.attempt) + 1
redis.call('HSET', JOB, 'state', 'running', 'entry', entry, 'nonce', nonce, 'worker', worker,
  'lease_until_ms', now + lease_ms, 'lease_ms', lease_ms, 'crashes', crashes, 'attempt', attempt, 'attempt_sequence', job.sequence)
redis.call('HDEL', JOB, 'shared')
redis.call('ZREM', WAITING, id)
redis.call('ZADD', RUNNING, job.deadline_ms, id)
if alone then
  redis.call('HSET', JOB, 'alone', alone)
else
  local held = held_by(worker)
  redis.call('SADD', held, id)
  redis.call('PEXPIREAT', held, math.max(redis.call('PEXPIRETIME', held), tonumber(job.deadline_ms) + lease_ms))
  local beside = redis.call('SMEMBERS', held)
  if #beside > 1 then
    for _, other in ipairs(beside) do
      if redis.call('HGET', PREFIX .. 'job:' .. other, 'worker') == worker then
        redis.call('HSET', PREFIX .. 'job:' .. other, 'shared', '1')
      end
    end
  end
end
return {'claimed', id, attempt, tonumber(job.sequence), job.job, alone or '0',
  tonumber(job.deadline_ms) - now}
