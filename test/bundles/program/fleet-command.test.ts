import { expect, it } from 'vitest';
import { FleetCommand } from '#bundles/program/fleet-command';
import { runCommandClass } from '../../scheduler/commands/run-command-class.ts';

/** What a medium of a stranger could have in a name. */
const HOSTILE = 'a name \u001b[2J\u009b31m\u0007';

class Shows extends FleetCommand {
  async run(): Promise<void> {
    this.log(`shown: ${HOSTILE}`);
    this.log();
    this.say(`said: ${HOSTILE}`);
  }
}

it('shows what strangers wrote, and lets none of it move the cursor', async () => {
  const { out, err } = await runCommandClass(Shows, []);
  expect(out).toContain(String.raw`shown: a name \u001b[2J\u009b31m\u0007`);
  expect(err).toContain(String.raw`said: a name \u001b[2J\u009b31m\u0007`);
});
