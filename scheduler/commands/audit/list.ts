import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseName } from '#bundles/names';
import { parseTime } from '#bundles/time';
import { FleetCommand } from '#cli/fleet-command';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { readAuditLog } from '../../load/releases/audit-log.ts';
import { endedSubmissions } from '../../release/chain/submitted.ts';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags, environmentFlag } from '../../settings/configuration-flags.ts';
import { describeEntry, environmentOf } from '../../views/audit/describe-entry.ts';

const { config, keys, layout } = configurationFlags;

export default class AuditList extends FleetCommand {
  static override description =
    'Promotions, approvals and decisions in the audit log of a layout, oldest first.\n\nThe whole log is verified before anything is shown.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --environment prod --since 2026-11-01',
    '<%= config.bin %> <%= command.id %> --json',
  ];
  static override flags = {
    config,
    keys,
    layout,
    environment: environmentFlag('Only entries about this environment'),
    since: Flags.string({
      description: 'Only entries of this time or later: 2026-11-21, or 2026-11-21T08:00:00Z',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(AuditList);
    const configuration = await readConfiguration(flags, process.cwd());
    const wanted = flags.environment?.map((name) => parseName(name, 'environment'));
    const since = flags.since === undefined ? undefined : parseSince(flags.since);
    const { roots } = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const { entries, head } = await readAuditLog(opened, roots);
    const shown = entries.filter(
      (entry) =>
        (wanted?.includes(environmentOf(entry)) ?? true) &&
        (since === undefined || parseTime(entry.at) >= since),
    );
    const ended = endedSubmissions(entries);
    for (const entry of shown) this.log(describeEntry(entry, ended.get(entry.number)));
    if (shown.length === 0)
      this.log(
        entries.length === 0 ? `${opened.directory} has no audit log.` : 'No entry of the audit log matches.',
      );
    return { head, entries: shown };
  }
}

/** @throws FleetError USAGE */
const parseSince = (text: string): Date => {
  try {
    return parseTime(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
  } catch (cause) {
    throw new FleetError('USAGE', `--since ${JSON.stringify(text.slice(0, 40))} is not a day or time`, {
      cause,
      hint: 'Write it like 2026-11-21, or 2026-11-21T08:00:00Z',
    });
  }
};
