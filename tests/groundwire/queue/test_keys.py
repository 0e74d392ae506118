"""Keys: a script's keys share one Cluster slot, and every process finds a job in the same partition."""

import re

from groundwire.queue.keys import PartitionKeys, partition_of


def test_all_keys_of_a_script_share_their_hash_tag():
    keys = PartitionKeys(3).of_script("a{b}c")
    # Redis hashes what is between the first "{" and the first "}" after it.
    assert {re.search(r"\{(.*?)\}", key).group(1) for key in keys} == {"3"}
    assert len(set(keys)) == len(keys)


def test_a_job_has_the_same_partition_in_every_process_and_version():
    assert [partition_of(job_id, 4).partition for job_id in ("a", "b", "answer.anonymous.1", "ä")] == [3, 1, 2, 3]
    assert partition_of("anything", 1).partition == 0


def test_jobs_spread_over_the_partitions():
    counts = [0] * 8
    for number in range(800):
        counts[partition_of(f"job-{number}", 8).partition] += 1
    assert min(counts) > 50
