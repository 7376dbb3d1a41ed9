// Two worker threads with a chain of hashes each, and a timer in the main thread that tells of them.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { createHash } = require('crypto');

const ROUNDS = 200;

if (isMainThread) {
  const results = [];
  let round = 0;
  let left = 2;
  for (const seed of ['one', 'two']) {
    const worker = new Worker(__filename, { workerData: seed });
    worker.on('message', (message) => {
      if (message.round > round) console.log(`round ${(round = message.round)}`);
      if (message.hash) results.push(`${seed} ${message.hash}`);
    });
    worker.on('exit', () => {
      if (--left === 0) console.log(`sum ${results.sort().join(' ')}`);
    });
  }
} else {
  let hash = workerData;
  let round = 0;
  const step = () => {
    for (let i = 0; i < 200; i++) hash = createHash('sha256').update(hash).digest('hex');
    round++;
    parentPort.postMessage({ round, hash: round === ROUNDS ? hash : null });
    if (round < ROUNDS) setTimeout(step, 15);
  };
  step();
}
