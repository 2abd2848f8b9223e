import { Args, Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { readLocalEdits, shortEdit, type SiteEdit } from '../../../hub/sites/local-edits.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';

export default class SitesValuesLocal extends FleetCommand {
  static override description =
    'Show the values that people at sites set there, and that the office has not answered.\n\nTimes are those of the clocks at the sites.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> plant-7 --all',
  ];
  static override args = { site: Args.string({ description: 'Only of this site' }) };
  static override flags = {
    ...hubFlags,
    all: Flags.boolean({
      description: 'Also those that were answered, superseded, or taken back there, in their order',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesValuesLocal);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const states = flags.all ? undefined : (['waiting'] as const);
    const edits = await readLocalEdits(hub.store.db, { site: args.site, states });
    this.print(
      edits.length === 0
        ? 'No value that a person at a site set waits for an answer.'
        : {
            head: ['ID', 'AGENT', 'VALUE', 'WHEN', 'PERSON', 'STATE', 'NOTE'],
            rows: edits.map(toRow),
          },
    );
    return { fleet: hub.store.fleet, edits };
  }
}

const toRow = (one: SiteEdit): readonly string[] => [
  shortEdit(one.edit),
  one.agent,
  `${one.name}: ${one.old ?? 'nothing'} -> ${one.value ?? `${one.given ?? 'the value of the office'}, no longer local`}`,
  one.at,
  one.person,
  one.action === 'unset' ? '-' : one.state,
  [one.reason, one.note, answerOf(one)].filter((part) => part !== null && part !== '').join('; '),
];

const answerOf = ({ state, decided_by: by, decided_reason: reason, confirmed }: SiteEdit): string | null =>
  state === 'accepted' || state === 'refused'
    ? `${state} by ${by ?? 'a rule'}${reason === null ? '' : `: ${reason}`}${confirmed === 1 ? '; the agent has the answer' : ''}`
    : null;
