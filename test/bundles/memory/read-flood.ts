import { readFileSync } from 'node:fs';
import { isFleetError } from '#bundles/errors';
import { type Flood, flood, realBundles } from './flood.ts';
import { type Reader, READERS, type ReaderName } from './readers.ts';

/** Started with a reader's name and a flood's: prints what the reader said, and the most memory that this process had. */
const [reader, kind] = process.argv.slice(2) as [ReaderName, Flood | 'real'];
const { cap, before, after, read }: Reader = READERS[reader];
const bytes = kind === 'real' ? realBundles(cap, before, after) : flood(kind, cap, before, after);
let answer = 'ACCEPT';
try {
  read(bytes);
} catch (error) {
  answer = isFleetError(error) ? error.code : String(error);
}
// Not maxRSS: that begins with the memory of the process that started this one (getrusage(2)).
const kib = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
process.stdout.write(JSON.stringify({ answer, mib: Math.round(Number(kib) / 1024) }));
