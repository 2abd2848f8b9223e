/** An agent that holds the lease until it is killed, and prints when it has it. Its argument: a Holder as JSON. */
import { holdLease, type Holder } from './hold-lease.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
say(await holdLease(JSON.parse(process.argv[2] ?? '') as Holder, new AbortController().signal, say));
