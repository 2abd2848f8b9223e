import { pipeline } from 'node:stream/promises';
import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { type Configuration, readConfiguration } from '../../settings/configuration.ts';
import { configurationFlags, hubFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/open-hub.ts';
import { parseLimit } from '../../hub/page.ts';
import { readStatus } from '../../hub/questions/status/read-status.ts';
import { renderNarrow } from '../../hub/questions/status/render-narrow.ts';
import { renderTable } from '../../hub/questions/status/render-table.ts';
import { streamJson, streamLines } from '../../hub/questions/status/stream-status.ts';

export default class Status extends FleetCommand {
  static override description =
    'Show the running and desired version of each agent, and the age of each report.\n\nRows marked with ! need a look. --wide adds the digest that runs, drift, and for each entry its age and the number of its report, which is listed below the table.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --environment prod --json',
    '<%= config.bin %> <%= command.id %> --platform ./platform',
  ];
  static override flags = {
    ...hubFlags,
    platform: Flags.string({
      description:
        'Judge the age of reports by the FreshnessPolicies of this platform repository, URL or directory [default: as serve last read them]',
    }),
    cache: configurationFlags.cache,
    map: configurationFlags.map,
    wide: Flags.boolean({ description: 'All columns, with the age and the report of each' }),
    environment: Flags.string({ char: 'e', description: 'Only agents of this environment' }),
    site: Flags.string({ description: 'Only this site' }),
    limit: Flags.string({ description: 'One page of so many agents, 1 to 1000 [default: all agents]' }),
    cursor: Flags.string({ description: 'End of the previous page' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Status);
    const now = this.readNow(flags.now);
    const filter = {
      environment: flags.environment === undefined ? undefined : parseName(flags.environment, 'environment'),
      site: flags.site === undefined ? undefined : parseName(flags.site, 'site'),
    };
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration);
    // Only if asked for: the configuration file of a hub names its platform, too, and reading that takes time.
    const platform = flags.platform === undefined ? undefined : await freshnessOf(configuration, this.signal);
    const options = { signal: this.signal, platform };
    if (flags.limit !== undefined || flags.cursor !== undefined) {
      const page = { limit: parseLimit(flags.limit), cursor: flags.cursor };
      const answer = await readStatus(hub, filter, now, { ...options, page });
      if (!this.jsonEnabled()) this.print(flags.wide ? answer.lines : answer.narrow);
      return answer.json;
    }
    if (this.jsonEnabled()) {
      await pipeline(streamJson(hub, filter, now, options), process.stdout, { end: false });
      return undefined;
    }
    const render = flags.wide ? renderTable : renderNarrow;
    for await (const line of streamLines(hub, filter, now, { ...options, render })) this.print(line);
    return undefined;
  }

  /** The whole answer was printed in pieces. */
  protected override logJson(json: unknown): void {
    if (json === undefined) this.log();
    else super.logJson(json);
  }
}

/** The FreshnessPolicies of the platform. What reads a platform is loaded for it alone. */
const freshnessOf = async (configuration: Configuration, signal: AbortSignal) => {
  const { platformOptions } = await import('../../load/platform/platform-options.ts');
  const { readPromotion } = await import('../../hub/promote/facts/link.ts');
  const options = platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal });
  return (await readPromotion(options)).freshnessPolicies;
};
