import { join } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { digestOf, shortDigest } from '#bundles/digest';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { toFleetError } from '#bundles/errors';
import { canonicalBytes } from '#bundles/json/canonical';
import { SITE_EVIDENCE_PREDICATE } from '#bundles/media-types';
import { parseName } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../hub/open-hub.ts';
import { siteEvidence } from '../hub/questions/answers/site-evidence.ts';
import { readConfiguration } from '../settings/configuration.ts';
import { hubFlags } from '../settings/configuration-flags.ts';
import { parseWhen, WHEN } from '../settings/parse-when.ts';

export default class Evidence extends FleetCommand {
  static override description =
    'Write what ran at a site at a time, and why, as a signed file for an auditor.\n\nThe file has, for each agent, its packages, their health and drift with the reports that prove them, the time of its last look, and the release with candidate and commits; and the entries of the audit log until then: promotions, approvals, decisions and changes, with persons and reasons. The audit key signs it; cosign checks it without a network.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7 --at 2026-10-04',
    '<%= config.bin %> <%= command.id %> plant-7 --at 2026-10-04T12:00:00Z --out /media/auditor',
  ];
  static override args = { site: Args.string({ required: true, description: 'Name of the site' }) };
  static override flags = {
    ...hubFlags,
    at: Flags.string({ description: `Time of the state: ${WHEN} [default: now]` }),
    out: Flags.string({ default: '.', description: 'Folder for the two files' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Evidence);
    const now = this.readNow(flags.now);
    const site = parseName(args.site, 'site');
    const at = flags.at === undefined ? formatTime(now) : parseWhen(flags.at, '--at', now);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const key = await hub.keys.key('audit');
    const evidence = await siteEvidence(hub, { site, at }, now);
    const bytes = canonicalBytes(evidence);
    const digest = digestOf(bytes);
    const predicate = { fleet: hub.keys.root.fleet, site, at, time: formatTime(now) };
    const statement = encodeStatement([{ name: 'evidence', digest }], SITE_EVIDENCE_PREDICATE, predicate);
    const signature = await signPayload(statement, key);
    const name = `${site}-${at.replaceAll(/[-:]/g, '')}.evidence`;
    const [file, bundle] = [join(flags.out, `${name}.json`), join(flags.out, `${name}.sigstore.json`)];
    try {
      await createDirectory(flags.out);
      await writeFileAtomically(file, bytes);
      await writeFileAtomically(bundle, signature);
    } catch (error) {
      throw toFleetError(error, `writing ${file}`);
    }
    this.log(`${file}: what ran at ${site} at ${at}  ${shortDigest(digest)}`);
    this.log(`${bundle}: its signature by the audit key`);
    return { file, signature: bundle, digest, evidence };
  }
}
