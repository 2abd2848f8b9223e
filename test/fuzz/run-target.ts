import { supervise } from './supervise.ts';

/** A process for one target, so that its memory is its own: `run-target.ts <target> <seed> <milliseconds>` prints JSON. */
const [target = '', seed = '1', milliseconds = '1000'] = process.argv.slice(2);
const { findings, ...run } = await supervise(target, Number(seed), Number(milliseconds));
const encoded = findings.map(({ input, ...finding }) => ({ ...finding, input: input.toString('base64') }));
process.stdout.write(JSON.stringify({ ...run, findings: encoded }));
