import { Flags } from '@oclif/core';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { type AuditEntry, readAuditLog } from '../../load/releases/audit-log.ts';
import { endedSubmissions } from '../../release/chain/submitted.ts';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags, environmentFlag } from '../../settings/configuration-flags.ts';
import { parseWhen, WHEN } from '../../settings/parse-when.ts';
import { describeEntry, environmentOf } from '../../views/audit/describe-entry.ts';

const { config, keys, layout } = configurationFlags;

export default class AuditList extends FleetCommand {
  static override description =
    'Promotions, approvals, decisions and changes in the audit log of a layout, oldest first.\n\nThe whole log is verified before anything is shown.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --environment prod --since 2026-11-01',
    '<%= config.bin %> <%= command.id %> --about plant-7',
    '<%= config.bin %> <%= command.id %> --json',
  ];
  static override flags = {
    config,
    keys,
    layout,
    environment: environmentFlag('Only entries about this environment'),
    about: Flags.string({
      description: 'Only changes of this site, <site>/<agent>, token, session or person',
    }),
    since: Flags.string({ description: `Only entries of this time or later: ${WHEN}` }),
    until: Flags.string({ description: 'Only entries of this time or earlier' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(AuditList);
    const configuration = await readConfiguration(flags, process.cwd());
    const wanted = flags.environment?.map((name) => parseName(name, 'environment'));
    const now = this.readNow(flags.now);
    const [since = '', until] = (['since', 'until'] as const).map((flag) => {
      const text = flags[flag];
      return text === undefined ? undefined : parseWhen(text, flag, now);
    });
    const { roots } = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const { entries, head } = await readAuditLog(opened, roots);
    const shown = entries.filter(
      (entry) =>
        (wanted?.includes(environmentOf(entry) ?? '') ?? true) &&
        (flags.about === undefined || isAbout(entry, flags.about)) &&
        entry.at >= since &&
        (until === undefined || entry.at <= until),
    );
    const ended = endedSubmissions(entries);
    this.print({ rows: shown.map((entry) => describeEntry(entry, ended.get(entry.number))) });
    if (shown.length === 0)
      this.log(
        entries.length === 0 ? `${opened.directory} has no audit log.` : 'No entry of the audit log matches.',
      );
    return { head, entries: shown };
  }
}

/** A site's changes are those of its agents, too. */
const isAbout = ({ kind, predicate }: AuditEntry, name: string): boolean =>
  kind === 'change' &&
  (predicate.about === name || predicate.about.startsWith(`${name}/`) || predicate.person === name);
