import { Args, Flags } from '@oclif/core';
import { parseDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseChannel, parseName } from '#bundles/names';
import { type Enrolled, enroll } from '../enroll/enroll.ts';
import { acquireLock } from '../store/lock.ts';
import { openState } from '../store/state.ts';
import { AgentCommand } from './agent-command.ts';

export class Enroll extends AgentCommand {
  static override summary = 'Make this machine a key and ask, on a medium, to be taken into a fleet.';
  static override description =
    'The request goes to the platform team; their answer comes back on a medium, for "import". ' +
    'The SHA-256 of the trust root comes from them too, by another way than the stick.';
  static override examples = [
    '<%= config.bin %> enroll --fleet halden --site plant-7 --name kiosk-1 --channel prod/factory-host --root-sha256 9f2c...e1 /media/stick',
    '<%= config.bin %> enroll --fleet halden --site plant-7 --name kiosk-2 --channel prod/factory-host --label ring=canary --root-sha256 9f2c...e1 /media/stick',
  ];
  static override args = {
    medium: Args.string({ required: true, description: 'Directory of the medium' }),
  };
  static override flags = {
    fleet: Flags.string({ required: true, description: 'Name of the fleet' }),
    site: Flags.string({ required: true, description: 'Name of the site this machine stands at' }),
    name: Flags.string({ required: true, description: 'Name of this machine within its site' }),
    channel: Flags.string({
      required: true,
      description: 'What it wants to follow: environment/cluster type',
    }),
    'root-sha256': Flags.string({ required: true, description: "SHA-256 of the fleet's root.json" }),
    label: Flags.string({ multiple: true, description: 'key=value, for rollouts; repeatable' }),
  };

  async run(): Promise<Enrolled> {
    const { args, flags } = await this.parse(Enroll);
    const config = this.readConfig(flags);
    const edge = this.edge(config, flags);
    const wish = {
      fleet: parseName(flags.fleet, 'fleet'),
      site: parseName(flags.site, 'site'),
      agent: parseName(flags.name, 'agent'),
      channel: parseChannel(flags.channel),
      labels: parseLabels(flags.label ?? []),
      pinnedRoot: parseRootDigest(flags['root-sha256']),
    };
    using state = openState(config.state, { create: true });
    using _lock = await acquireLock(config.state, 'enroll', edge.now());
    const enrolled = await enroll(state, edge, wish, args.medium);
    this.log(`${enrolled.fresh ? 'Made a key' : 'Asked before with the same words'}. Its fingerprint:`);
    this.log(`  ${enrolled.fingerprint}`);
    this.log(`The request is ${enrolled.request} on ${args.medium}.`);
    this.log('Next: carry the medium to the platform team and tell them the fingerprint.');
    this.log('When it comes back with their answer: fleet-agent import <medium>');
    return enrolled;
  }
}

const LABEL = /^([A-Za-z0-9][A-Za-z0-9._/-]{0,62})=(.{0,63})$/;

const parseLabels = (texts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    texts.map((text) => {
      const [, key, value] = LABEL.exec(text) ?? [];
      if (key !== undefined && value !== undefined) return [key, value];
      throw new FleetError('USAGE', `--label ${JSON.stringify(text)} is not key=value`);
    }),
  );

const parseRootDigest = (text: string) => {
  const hex = text.toLowerCase().replace(/^sha256:/, '');
  try {
    return parseDigest(`sha256:${hex}`);
  } catch (cause) {
    throw new FleetError(
      'USAGE',
      `--root-sha256 must be 64 hex digits, not ${JSON.stringify(text.slice(0, 80))}`,
      {
        cause,
        hint: 'The platform team gets it from "fleet-scheduler root inspect", or from sha256sum root.json',
      },
    );
  }
};
