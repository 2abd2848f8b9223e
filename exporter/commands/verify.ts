import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { CODES } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { openKeyFile } from '#bundles/trust/keys/open-key-file';
import { passwordsFrom } from '#bundles/trust/keys/passwords';
import { processTerminal } from '#bundles/trust/keys/terminal';
import { FleetCommand } from '#cli/fleet-command';
import type { SigningKey } from '#bundles/trust/keys/key';
import { emptyMediumError } from '../source/check/empty-medium-error.ts';
import {
  checkEvidenceFolder,
  type WrittenEvidence,
  writeEvidence,
} from '../verify/evidence/write-evidence.ts';
import { isRefusal, writeRefusal } from '../verify/evidence/write-refusal.ts';
import type { BlobCheck } from '../verify/check-blobs.ts';
import { formatChecks, formatVerdict } from '../verify/format-checks.ts';
import { formatProvenance } from '../verify/provenance.ts';
import { type Verification, verifyMedium } from '../verify/verify-medium.ts';
import { IDENTITY_FLAG, MEDIUM_ARG, openGiven } from './open-given.ts';
import { parseRootDigest, ROOT_FLAG } from './root-digest.ts';
import { stoppable } from './stoppable.ts';

type Verified = Verification & { readonly evidence: WrittenEvidence | undefined };

export default class Verify extends FleetCommand {
  static override summary = 'Check everything on a medium: signatures, digests, completeness';
  static override description =
    'Prints the verdict, then one line for each check; --details adds who built each bundle, and from which sources. With ' +
    '--root-sha256 the chain of roots begins at a root that you trust; without it the medium is checked only against its own ' +
    'roots. With --evidence the checks, the statements they follow from and a signature over them are written to a folder, ' +
    'which fleet-export recheck examines later, with or without the medium.';
  static override examples = [
    '<%= config.bin %> verify /media/stick --root-sha256 3f0c...',
    '<%= config.bin %> verify plant-7.tar --json',
    '<%= config.bin %> verify /media/stick --root-sha256 3f0c... --evidence 2026-11-21-plant-7 --sign-key auditor.key',
    '<%= config.bin %> verify parts/5f0cdd01aa20b1c7-0003.tar --partial',
  ];
  static override strict = false;
  static override args = MEDIUM_ARG;
  static override flags = {
    ...ROOT_FLAG,
    ...IDENTITY_FLAG,
    details: Flags.boolean({ description: 'Also show who built each bundle, and from which sources' }),
    partial: Flags.boolean({ description: 'Report missing parts of a set instead of refusing the medium' }),
    evidence: Flags.string({
      description: 'Write the checks and the statements they follow from to this new folder, signed',
      dependsOn: ['sign-key'],
    }),
    'sign-key': Flags.string({
      description: 'Private key that signs the evidence: PKCS#8 or an encrypted key file of cosign',
      dependsOn: ['evidence'],
    }),
    'password-file': Flags.string({
      description:
        'File with the password of --sign-key on one line; else FLEET_KEY_PASSWORD_FILE, FLEET_KEY_PASSWORD or COSIGN_PASSWORD, else it is asked for',
    }),
  };

  async run(): Promise<Verified> {
    const { argv, flags } = await this.parse(Verify);
    const now = this.readNow(flags.now);
    const clock = flags.now === undefined ? () => new Date() : () => now;
    const given = flags['root-sha256'];
    const pinned = given === undefined ? undefined : parseRootDigest(given);
    const key = await this.keyOf(flags);
    return stoppable(this.signal, 'Nothing was changed', async () => {
      if (flags.evidence !== undefined) await checkEvidenceFolder(flags.evidence);
      const media = argv as string[];
      const keep = async (error: unknown): Promise<never> => {
        if (flags.evidence === undefined || !key || !isRefusal(error)) throw error;
        this.tell(await writeRefusal(flags.evidence, { media, error, pinned, now }, key, this.signal));
        throw error;
      };
      await using open = await openGiven(media, flags, this.signal).catch(keep);
      if (!open.medium) await keep(emptyMediumError(open.path));
      const blobs: BlobCheck[] = [];
      let opened: ReadonlySet<Digest> = new Set();
      const { partial } = flags;
      const verification = await verifyMedium(open, pinned, now, this.signal, {
        clock,
        partial,
        ...defined({
          onBlob: flags.evidence === undefined ? undefined : (blob: BlobCheck) => blobs.push(blob),
        }),
        onJudged: (digests) => {
          opened = digests;
        },
      });
      this.log(formatVerdict(open.path, verification));
      this.show(verification, flags.details);
      const verified = { open, verification, blobs, opened, pinned, now, partial };
      const evidence =
        flags.evidence === undefined || !key
          ? undefined
          : await writeEvidence(flags.evidence, verified, key, this.signal);
      if (evidence) this.tell(evidence);
      return { ...verification, evidence };
    });
  }

  private tell({ folder, lines }: WrittenEvidence): void {
    this.log(`Evidence: ${folder}, ${formatCount(lines, 'line')}, signed`);
  }

  private async keyOf(flags: {
    readonly 'sign-key'?: string | undefined;
    readonly 'password-file'?: string | undefined;
  }): Promise<SigningKey | undefined> {
    const file = flags['sign-key'];
    if (file === undefined) return undefined;
    const passwords = passwordsFrom({
      file: flags['password-file'],
      env: process.env,
      terminal: processTerminal(),
    });
    return openKeyFile(file, { what: "auditor's key" }, passwords);
  }

  private show({ checks, provenance, advice }: Verification, details: boolean): void {
    this.logText(formatChecks(checks));
    if (details) for (const line of provenance.flatMap(formatProvenance)) this.log(line);
    for (const line of advice) this.say(`Note: ${line}.`);
    const failed = checks.find(({ code }) => code !== undefined);
    if (failed?.code) process.exitCode = CODES[failed.code].exit;
  }
}
