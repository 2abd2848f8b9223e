import { Args } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { type ListedSupport, listSupport } from '../../hub/support/list-support.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { parseSupportTarget } from './support-target.ts';

export default class SupportList extends FleetCommand {
  static override description = 'List requests for support bundles and the bundles that came, newest first.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> plant-7',
  ];
  static override args = { target: Args.string({ description: 'Site, or <site>/<agent> [default: all]' }) };
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SupportList);
    const target = args.target === undefined ? undefined : parseSupportTarget(args.target);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const support = await listSupport(hub.store.db, target, this.readNow(flags.now));
    this.print({ rows: support.map(describeSupport) });
    if (support.length === 0)
      this.log('No support bundle, and no request. Ask for one with: fleet-scheduler support request <site>');
    return { support };
  }
}

const describeSupport = ({
  agent,
  request,
  requestedAt,
  until,
  person,
  reason,
  state,
  bundle,
}: ListedSupport): readonly string[] => {
  const by = `asked for at ${requestedAt} by ${person ?? 'the program'}${reason === null ? '' : `: ${reason}`}`;
  const came = bundle
    ? `${shortDigest(bundle.digest)}, made at ${bundle.madeAt}, ${Math.ceil(bundle.bytes / 1024)} KiB by ${bundle.source}`
    : 'not kept any more';
  switch (state) {
    case 'waits':
      return [agent, `waits until ${until}`, `${request} ${by}`];
    case 'over':
      return [agent, `not answered; ended at ${until}`, `${request} ${by}`];
    case 'answered':
      return [agent, 'answered', `${request} ${by}`, came];
    case 'unasked':
      return [agent, 'created on the machine', '', came];
  }
};
