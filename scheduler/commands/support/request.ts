import { randomBytes } from 'node:crypto';
import { Args, Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { writeSite } from '../../hub/sites/write-site.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { requestSupport } from '../../hub/support/request-support.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personAndReason } from '../person-flags.ts';
import { parseSupportTarget } from './support-target.ts';

const DAYS = 30;

export default class SupportRequest extends FleetCommand {
  static override description =
    'Ask the agents of a site, or one agent, for a support bundle.\n\nThe request is in the next site statement, which the release key signs. An agent that is connected answers with its next poll, any other one with the reports on the next medium; each request once, and none after its end. The bundle is redacted and signed by the agent.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7 --reason "labels come out blank"',
    '<%= config.bin %> <%= command.id %> plant-7/press-1 --days 7',
  ];
  static override args = { target: Args.string({ required: true, description: 'Site, or <site>/<agent>' }) };
  static override flags = {
    ...hubFlags,
    ...personFlags,
    days: Flags.integer({ min: 1, max: 180, default: DAYS, description: 'Days until the request ends' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SupportRequest);
    const target = parseSupportTarget(args.target);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()), {
      by: personAndReason(flags),
    });
    const now = this.readNow(flags.now);
    const { site, requests } = await requestSupport(hub.store, target, {
      signer: await siteSigner(hub),
      now,
      days: flags.days,
      random: () => randomBytes(8),
    });
    await writeSite(hub, site, { now, command: 'support request' });
    for (const line of await appendToLog(hub, 'support request', now)) this.say(line);
    for (const { agent, id, until, waited } of requests)
      this.log(
        waited
          ? `${agent}  request ${id} waits for its answer already, until ${until}`
          : `${agent}  request ${id}, until ${until}`,
      );
    this.log(
      `site ${site.name} is at statement ${site.version}; agents get it with their next poll or medium, and "support list" shows the answers`,
    );
    return { site: site.name, version: site.version, requests };
  }
}
