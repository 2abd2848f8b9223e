import { insist, type Target } from './target.ts';

const trap = (name: string, run: Target['run']): Target => ({
  name,
  corpus: [Buffer.from('x')],
  mutate: (_, input) => input,
  run,
});

/** What the search must not miss, each in its plainest form; nobody runs them but its own test. */
export const TRAPS: readonly Target[] = [
  trap('trap-crash', () => (undefined as never)['x']),
  trap('trap-unsound', () => insist(false, 'it was let through')),
  trap('trap-hang', () => {
    for (;;);
  }),
  trap('trap-memory', () => {
    const held: Buffer[] = [];
    for (;;) if (held.length < 50) held.push(Buffer.alloc(40 << 20, 1));
  }),
  trap('trap-exit', () => process.exit(0)),
];
