import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

/** Names the file that NoteStrays writes. */
export const STRAYS_VARIABLE = 'FLEET_TEST_STRAYS';

/** How a run of vitest ended, and the errors that belong to no test. */
export type Strays = { readonly reason: string; readonly errors: readonly string[] };

/** A reporter of vitest: its JSON report has no errors outside of tests and does not say whether it was interrupted. */
export default class NoteStrays implements Reporter {
  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (_modules, unhandled, reason) => {
    const file = process.env[STRAYS_VARIABLE];
    if (file === undefined) return;
    const strays: Strays = { reason, errors: unhandled.map(({ message }) => message) };
    writeFileSync(file, JSON.stringify(strays));
  };
}
