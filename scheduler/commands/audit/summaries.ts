import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { SLSA_SUMMARY } from '#bundles/media-types';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { promotedTo, readAuditLog } from '../../load/releases/audit-log.ts';
import { readSummaries } from '../../load/releases/read-summaries.ts';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';

const { config, keys, layout } = configurationFlags;

export default class AuditSummaries extends FleetCommand {
  static override description =
    'Writes the verification summaries (SLSA) of the newest promotion to an environment, one file for each bundle that passed the environment before.\n\nEach is an in-toto statement in a sigstore bundle, signed by the release key, which cosign verifies.';
  static override examples = ['<%= config.bin %> <%= command.id %> prod --out summaries'];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment that was promoted to' }),
  };
  static override flags = {
    config,
    keys,
    layout,
    out: Flags.string({ required: true, description: 'Folder to write to; made if it does not exist' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AuditSummaries);
    const configuration = await readConfiguration(flags, process.cwd());
    const to = parseName(args.environment, 'environment');
    const { roots } = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const promotion = promotedTo(await readAuditLog(opened, roots), to);
    if (!promotion) {
      throw new FleetError('RELEASE_MISSING', `nothing was promoted to ${to}`, {
        hint: `Promote first: fleet-scheduler promote ${to}`,
      });
    }
    const { number, from } = promotion.predicate;
    const summaries = await readSummaries(opened, roots, promotion);
    if (summaries.length === 0) {
      throw new FleetError('RELEASE_MISSING', `promotion ${number} to ${to} has no verification summary`, {
        hint: `It was signed by an older version, or no bundle in ${from} had all of the candidate: promote the next one`,
      });
    }
    await mkdir(flags.out, { recursive: true });
    const written: { file: string; bundle: string | undefined }[] = [];
    for (const { bytes, environment, clusterType, about } of summaries) {
      const file = join(
        flags.out,
        `${environment}-${clusterType}-${(about ? hexOf(about) : '').slice(0, 12)}.sigstore.json`,
      );
      await writeFileAtomically(file, bytes);
      written.push({ file, bundle: about });
      this.log(`${file}: ${environment}/${clusterType} passed ${from}, bundle ${about}`);
    }
    this.log(
      `Verify one: cosign verify-blob-attestation --key release.pub --insecure-ignore-tlog --type ${SLSA_SUMMARY} --digest <hex of the bundle> --digestAlg sha256 --bundle <file>`,
    );
    return { from, to, number, summaries: written };
  }
}
