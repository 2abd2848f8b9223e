import { Args, Flags } from '@oclif/core';
import { CODES } from '#bundles/errors';
import { readPublicFile } from '#bundles/trust/keys/read-public-file';
import { nameSome } from '#bundles/name-some';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import type { GivenMedium } from '../verify/evidence/check-refused.ts';
import { type Recheck as Rechecked, recheck } from '../verify/evidence/recheck.ts';
import { isRefusal } from '../verify/evidence/write-refusal.ts';
import { formatChecks } from '../verify/format-checks.ts';
import { IDENTITY_FLAG, type OpenFlags, openGiven } from './open-given.ts';
import { parseRootDigest, ROOT_FLAG } from './root-digest.ts';
import { stoppable } from './stoppable.ts';

/** The evidence is valid and says that the medium was refused. */
const EXIT_REFUSED = 8;

export default class Recheck extends FleetCommand {
  static override summary = 'Check the evidence of an earlier verification, with or without the medium';
  static override description =
    'Checks the signature and repeats every check on the statements in the folder, at the time of the verification. With the ' +
    'medium it also compares the bytes; if the medium cannot be opened, it checks whether it is the one that was refused. ' +
    'Writes nothing.';
  static override examples = [
    '<%= config.bin %> recheck 2026-11-21-plant-7 --key auditor.pub --root-sha256 3f0c...',
    '<%= config.bin %> recheck 2026-11-21-plant-7 /media/stick --key auditor.pub',
  ];
  static override strict = false;
  static override args = {
    evidence: Args.string({ required: true, description: 'The folder that verify --evidence wrote' }),
    medium: Args.string({
      description: 'The medium, to check whether it still has the bytes that were verified',
    }),
  };
  static override flags = {
    key: Flags.string({
      ...repeatable,
      description: 'Public key that may have signed it [default: the audit keys of the root]',
    }),
    ...ROOT_FLAG,
    ...IDENTITY_FLAG,
  };

  async run(): Promise<Rechecked> {
    const { args, argv, flags } = await this.parse(Recheck);
    const now = this.readNow(flags.now);
    const given = flags['root-sha256'];
    const pinned = given === undefined ? undefined : parseRootDigest(given);
    const keys = flags.key && (await Promise.all(flags.key.map(readPublicFile)));
    return stoppable(this.signal, 'Nothing was changed', async () => {
      await using opened = new AsyncDisposableStack();
      const media = (argv as string[]).slice(1);
      const medium =
        media.length === 0 ? undefined : await openOrNot(media, flags, { opened, signal: this.signal });
      const result = await recheck({
        folder: args.evidence,
        keys,
        pinned,
        medium,
        now,
        signal: this.signal,
      });
      this.show(result);
      return result;
    });
  }

  private show({ checks, advice, result, refused, time, missing }: Rechecked): void {
    this.logText(formatChecks(checks));
    for (const { what, code, message } of refused)
      this.log(`refused then: ${what}: ${message ?? code ?? ''}`);
    if (missing.length > 0) this.log(`not verified then: parts ${nameSome(missing.map(String))}`);
    for (const line of advice) this.say(`Note: ${line}.`);
    const failed = checks.find(({ code }) => code !== undefined);
    if (failed?.code) process.exitCode = CODES[failed.code].exit;
    else if (result === 'refused') process.exitCode = EXIT_REFUSED;
    if (!failed) this.log(`At ${time} the medium ${result === 'passed' ? 'passed' : 'was refused'}.`);
  }
}

/** Opens the medium, or returns why it is refused: a medium that was refused cannot be opened today either. @throws FleetError unless isRefusal */
const openOrNot = async (
  paths: readonly string[],
  flags: OpenFlags,
  { opened, signal }: { readonly opened: AsyncDisposableStack; readonly signal: AbortSignal },
): Promise<GivenMedium> => {
  try {
    return { paths, open: opened.use(await openGiven(paths, flags, signal)) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { paths, refusal: error };
  }
};
