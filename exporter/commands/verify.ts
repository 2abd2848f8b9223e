import { Args, Flags } from '@oclif/core';
import { type Digest, digestFromHex } from '#bundles/digest';
import { CODES, FleetError } from '#bundles/errors';
import { openMedium } from '#bundles/medium/open-medium';
import { FleetCommand } from '#bundles/program/fleet-command';
import { type Verification, verifyMedium } from '../verify/verify-medium.ts';
import { stoppable } from './stoppable.ts';

export default class Verify extends FleetCommand {
  static override summary = 'Check everything on a medium: signatures, digests, completeness';
  static override description =
    'One line a check. With --root-sha256 the chain begins at the root you know; without it the medium is only held ' +
    'against itself.';
  static override examples = [
    '<%= config.bin %> verify /media/stick --root-sha256 3f0c...',
    '<%= config.bin %> verify plant-7.tar --json',
  ];
  static override args = {
    medium: Args.string({ required: true, description: 'A folder or a tar' }),
  };
  static override flags = {
    'root-sha256': Flags.string({ description: 'SHA-256 of a root file that you trust, 64 hex digits' }),
  };

  async run(): Promise<Verification> {
    const { args, flags } = await this.parse(Verify);
    const now = this.readNow(flags.now);
    const given = flags['root-sha256'];
    const pinned = given === undefined ? undefined : parseRootDigest(given);
    return stoppable(this.signal, 'Nothing was changed', async () => {
      await using medium = await openMedium(args.medium);
      const result = await verifyMedium(medium, pinned, now, this.signal);
      for (const { what, ok, message } of result.checks)
        this.log(`${ok ? 'ok     ' : 'REFUSED'} ${what}: ${message}`);
      for (const line of result.advice) this.log(`Note: ${line}.`);
      const failed = result.checks.find(({ code }) => code !== undefined);
      if (failed?.code) process.exitCode = CODES[failed.code].exit;
      return result;
    });
  }
}

const parseRootDigest = (text: string): Digest => {
  const hex = text.toLowerCase().replace(/^sha256:/, '');
  if (/^[0-9a-f]{64}$/.test(hex)) return digestFromHex(hex);
  throw new FleetError(
    'USAGE',
    `--root-sha256 must be 64 hex digits, not ${JSON.stringify(text.slice(0, 80))}`,
    {
      hint: 'fleet-scheduler root inspect shows it',
    },
  );
};
