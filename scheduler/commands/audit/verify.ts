import { Flags } from '@oclif/core';
import { type Digest, parseDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { AUDIT_KINDS } from '#bundles/formats/statements/audit-lines';
import { parseTime } from '#bundles/time';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { readHead } from '../../hub/changes/remember-head.ts';
import { openHub } from '../../hub/open-hub.ts';
import { storeExists } from '../../hub/store/open-store.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { type Configuration, readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { type AuditVerification, verifyAudit } from '../../views/audit/verify-audit.ts';

const { config, keys, layout, db } = configurationFlags;

export default class AuditVerify extends FleetCommand {
  static override description =
    'Verify the audit log of a layout: the chain of its entries, the checkpoint, and every signature.\n\nEach release in the layout must name an entry of the log, so a log that was cut after a release is refused. With a database of the hub, the log must have the newest entry that the hub saw. Only the roots of the key directory are needed, no private key. Exits with 4 if anything is wrong.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --layout out',
    '<%= config.bin %> <%= command.id %> --head sha256:5b6c...',
  ];
  static override flags = {
    config,
    keys,
    layout,
    db,
    head: Flags.string({
      ...repeatable,
      description: 'Digest of an entry that the log must have, as noted earlier (sha256:...)',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(AuditVerify);
    const configuration = await readConfiguration(flags, process.cwd());
    const { roots } = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const seen = await readSeen(configuration);
    const heads = [...(flags.head ?? []).map(parseHead), ...(seen === null ? [] : [seen])];
    const verified = await verifyAudit(opened, roots, heads);
    const { log, faults, channels, releases, naming } = verified;
    for (const line of describeVerified(verified, opened.directory, { noted: flags.head?.length ?? 0, seen }))
      this.log(line);
    for (const fault of faults) this.say(formatError(fault));
    const [first] = faults;
    if (first) process.exitCode = first.exitCode;
    return {
      verified: faults.length === 0,
      entries: log.entries.length,
      head: log.head,
      channels,
      releases,
      releasesWithHead: naming,
      faults: faults.map((fault) => this.toErrorJson(fault)),
    };
  }
}

const parseHead = (text: string) => {
  try {
    return parseDigest(text, '--head');
  } catch (cause) {
    throw new FleetError(
      'USAGE',
      `--head ${JSON.stringify(text.slice(0, 80))} is not the digest of an entry`,
      {
        cause,
        hint: 'Give sha256: and 64 hex digits, as "audit list --json" shows them',
      },
    );
  }
};

/** The checked facts, one a line; empty for a refused log. */
const describeVerified = (
  { log, channels, releases, naming, faults }: AuditVerification,
  directory: string,
  { noted, seen }: { readonly noted: number; readonly seen: Digest | null },
): readonly string[] => {
  if (faults.length > 0) return [];
  const newest = log.entries.at(-1);
  if (!newest) return [`${directory} has no audit log, and no release there names an entry of one.`];
  const kinds = AUDIT_KINDS.map((kind) =>
    counted(log.entries.filter((entry) => entry.kind === kind).length, kind),
  );
  return [
    `${directory}: ${counted(log.entries.length, 'entry', 'entries')} (${kinds.join(', ')}), the newest of ${newest.at}`,
    `head: ${newest.digest}`,
    'verified: the chain, the checkpoint and the signature of each entry',
    `verified: the log has the entries that ${naming} releases name, of ${counted(releases, 'release')} in ${counted(channels, 'channel')}`,
    ...(seen === null ? [] : ["verified: the log has the newest entry that the hub's database knows of"]),
    ...orderOf(log.entries),
    ...(noted > 0 ? [`verified: the log has ${counted(noted, 'entry', 'entries')} given with --head`] : []),
  ];
};

/** Times are of the machines that appended. One that goes back by more than clocks differ says that one of the clocks was wrong. */
const orderOf = (entries: AuditVerification['log']['entries']): readonly string[] => {
  let latest = entries[0];
  return entries.flatMap((entry) => {
    const before = latest;
    if (!before || parseTime(entry.at).getTime() >= parseTime(before.at).getTime() - CLOCKS_DIFFER_MS) {
      if (!before || entry.at > before.at) latest = entry;
      return [];
    }
    return [
      `note: entry ${entry.number} is of ${entry.at}, and entry ${before.number} before it of ${before.at}: the clock of a machine was wrong`,
    ];
  });
};

const CLOCKS_DIFFER_MS = 5 * 60_000;

/** The newest entry that the hub saw; null without a database. */
const readSeen = async (configuration: Configuration): Promise<Digest | null> => {
  if (configuration.db === undefined || !(await storeExists(configuration.db))) return null;
  await using hub = await openHub(configuration);
  return await readHead(hub);
};

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
