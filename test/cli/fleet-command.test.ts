import { Args, Flags } from '@oclif/core';
import { expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { runCommandClass } from '../scheduler/commands/run-command-class.ts';

/** What a medium of a stranger could have in a name. */
const HOSTILE = 'a name \u001b[2J\u009b31m\u0007';
/** One of each kind of character that reorders, hides or breaks the text beside it. */
const MISLEADING = Array.from(
  '\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u2028\u2029\u200b\u00ad\ufeff\u3164\u{e0041}',
);

class Shows extends FleetCommand {
  async run(): Promise<void> {
    this.log(`shown: ${HOSTILE}`);
    this.log();
    this.say(`said: ${HOSTILE}`);
  }
}

it('a command prints untrusted text with its control characters escaped, on both streams', async () => {
  const { out, err } = await runCommandClass(Shows, []);
  expect(out).toContain(String.raw`shown: a name \u001b[2J\u009b31m\u0007`);
  expect(err).toContain(String.raw`said: a name \u001b[2J\u009b31m\u0007`);
});

it('writes bidirectional controls and invisible characters as escapes, for people and as JSON', async () => {
  class Names extends FleetCommand {
    async run(): Promise<{ readonly names: readonly string[] }> {
      this.log(MISLEADING.join(' '));
      this.say(MISLEADING.join(' '));
      return { names: MISLEADING };
    }
  }
  class Refuses extends FleetCommand {
    async run(): Promise<never> {
      throw new FleetError('BAD_NAME', MISLEADING.join(' '));
    }
  }
  for (const command of [Names, Refuses])
    for (const flags of [[], ['--json']]) {
      const { out, err } = await runCommandClass(command, flags);
      expect(`${out}${err}`).toContain(String.raw`\u202e`);
      expect(MISLEADING.filter((one) => `${out}${err}`.includes(one))).toEqual([]);
    }
  const { out } = await runCommandClass(Names, ['--json']);
  expect(JSON.parse(out)).toEqual({ names: MISLEADING });
});

it.each([
  [['', '--out', 'x'], 'USAGE: the argument FOLDER is empty. See --help.'],
  [['a', '--out='], 'USAGE: --out is empty. See --help.'],
  [['a', '', '--out', 'x'], 'USAGE: the argument MORE is empty. See --help.'],
])('an argument or flag with an empty text is refused by name: %j', async (argv, message) => {
  class Writes extends FleetCommand {
    static override args = { FOLDER: Args.string({ required: true }), MORE: Args.string() };
    static override flags = { out: Flags.string({ required: true }) };
    async run(): Promise<void> {
      await this.parse(Writes);
    }
  }
  expect((await runCommandClass(Writes, argv)).err).toContain(message);
});
