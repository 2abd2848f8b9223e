import type { Program } from '#cli/load-config';
import { COMMANDS as agentCommands } from '../../agent/commands.ts';
import { PROGRAM as agent } from '../../agent/program.ts';
import { COMMANDS as exporterCommands } from '../../exporter/commands.ts';
import { PROGRAM as exporter } from '../../exporter/program.ts';
import { COMMANDS as schedulerCommands } from '../../scheduler/commands.ts';
import { PROGRAM as scheduler } from '../../scheduler/program.ts';

/** One Debian package: a program, and what of deploy/ belongs to it. */
export type Packaged = {
  readonly program: Program;
  /** Of the built program below dist. */
  readonly folder: string;
  /** Whether the package has Node itself, or depends on fleet-node (docs/decisions/0041-the-agent-keeps-its-node.md). */
  readonly node: 'inside' | 'shared';
  /** After the libraries that Node needs. */
  readonly depends: readonly string[];
  readonly recommends: readonly string[];
  /** From deploy, to its path on the machine. */
  readonly files: Readonly<Record<string, string>>;
  readonly about: string;
};

const UNITS = 'usr/lib/systemd/system';

const units = (...names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [`systemd/${name}`, `${UNITS}/${name}`]));

export const PACKAGED: readonly Packaged[] = [
  {
    program: { ...agent, commands: agentCommands },
    folder: 'agent',
    node: 'inside',
    depends: ['systemd'],
    recommends: [],
    files: {
      ...units(
        'fleet-agent.service',
        'fleet-agent-enroll.service',
        'fleet-agent-secrets.service',
        'fleet-agent-runner@.service',
        'fleet-agent-medium@.service',
      ),
      'systemd/90-fleet-agent-medium.rules': 'usr/lib/udev/rules.d/90-fleet-agent-medium.rules',
      'systemd/fleet-agent-generator': 'usr/lib/systemd/system-generators/fleet-agent-generator',
      'systemd/fleet-agent-start-guard': 'usr/lib/fleet-agent/start-guard',
      'debian/fleet-agent.trial': 'usr/lib/fleet-agent/trial',
      'debian/fleet-agent-trial.service': 'usr/lib/fleet-agent/fleet-agent-trial.service',
      'debian/fleet-agent.default': 'etc/default/fleet-agent',
      'debian/fleet-agent.needrestart': 'etc/needrestart/conf.d/fleet-agent.conf',
      'debian/agent.yaml': 'usr/share/doc/fleet-agent/examples/agent.yaml',
    },
    about: 'It needs no network: releases and reports can travel on removable media.',
  },
  {
    program: { ...exporter, commands: exporterCommands },
    folder: 'exporter',
    node: 'shared',
    depends: [],
    recommends: [],
    files: {},
    about: 'Releases come from a directory or a registry.',
  },
  {
    program: { ...scheduler, commands: schedulerCommands },
    folder: 'scheduler',
    node: 'shared',
    depends: ['systemd | systemd-standalone-sysusers'],
    recommends: ['git'],
    files: {
      ...units('fleet-scheduler.service', 'fleet-signer.service'),
      'debian/fleet-scheduler.default': 'etc/default/fleet-scheduler',
      'debian/fleet-signer.default': 'etc/default/fleet-signer',
      'debian/fleet-scheduler.sysusers': 'usr/lib/sysusers.d/fleet-scheduler.conf',
      'debian/fleet-scheduler.yaml': 'usr/share/doc/fleet-scheduler/examples/fleet-scheduler.yaml',
    },
    about: 'It is also the hub that agents enrol at and report to, and the signer that holds the keys.',
  },
];
