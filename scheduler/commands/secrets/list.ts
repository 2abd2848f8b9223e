import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import type { Row } from '#cli/format-table';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/open-hub.ts';
import { listSecrets, recommendationsFor } from '../../hub/sites/secrets/list-secrets.ts';
import { siteAgents } from '../../hub/sites/secrets/readers.ts';

export default class SecretsList extends FleetCommand {
  static override description =
    'List the sealed secret sets, and who can read them.\n\nWith --site also the age recipients of its agents, for a .sops.yaml.';
  static override examples = ['<%= config.bin %> <%= command.id %> --site plant-7'];
  static override flags = { ...hubFlags, site: Flags.string({ description: 'Only sets of this site' }) };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SecretsList);
    const site = flags.site === undefined ? undefined : parseName(flags.site, 'site');
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration);
    const { db } = hub.store;
    const sets = await listSecrets(db, site, configuration.escrow);
    this.print({
      rows: sets.flatMap((set): readonly Row[] => [
        [
          `${set.site}/${set.name}`,
          `version ${set.version}, sealed ${set.sealedAt}`,
          `read by ${set.readers.join(', ') || 'no agent'}`,
        ],
        ...recommendationsFor(set).map((remark) => `  ! ${remark}`),
      ]),
    });
    if (sets.length === 0) this.log('No secret set yet. Seal one with: fleet-scheduler secrets set');
    const agents = site === undefined ? [] : await siteAgents(db, site);
    this.print({
      rows: agents.map(({ name, recipient }) => [
        `${site}/${name}`,
        recipient ?? 'no recipient reported: nothing can be sealed to it',
      ]),
    });
    return defined({
      sets,
      agents:
        site !== undefined ? agents.map(({ name, recipient }) => ({ agent: name, recipient })) : undefined,
    });
  }
}
