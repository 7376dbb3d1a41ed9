"""A pool of processes, with a queue and a lock whose semaphores are in /dev/shm."""
import hashlib
import multiprocessing
import time

TASKS = 300
lock = multiprocessing.Lock()
done = multiprocessing.Value("i", 0)


def chain(seed):
    value = str(seed).encode()
    for _ in range(2000):
        value = hashlib.sha256(value).digest()
    time.sleep(0.05)
    with lock:
        done.value += 1
    return seed, value.hex()


if __name__ == "__main__":
    results = {}
    with multiprocessing.Pool(4) as pool:
        for seed, value in pool.imap_unordered(chain, range(TASKS)):
            results[seed] = value
            if len(results) % 4 == 0:
                print("round", len(results), flush=True)
    total = hashlib.sha256("".join(results[s] for s in sorted(results)).encode())
    print("sum", total.hexdigest(), done.value)
