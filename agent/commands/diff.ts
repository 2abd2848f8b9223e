import { formatCount } from '#bundles/format-count';
import { Args, Flags } from '@oclif/core';
import { lookAtDrift, type PackageDrift } from '../observe/observe.ts';
import type { Adoption } from '../model/target.ts';
import { nameSome } from '#bundles/name-some';
import { lookAtAdoptions, type PackageAdoptions } from '../apply/look-at-adoptions.ts';
import type { Printed } from '#cli/format-table';
import { type NextChanges, planNext } from '../apply/plan-next.ts';
import { AgentCommand, openToRead } from './agent-command.ts';
import { showNext } from './show-next.ts';

export default class Diff extends AgentCommand {
  static override summary =
    'Compare live state with the bundle. Changes nothing; exit code 8 when something differs or cannot be checked.';
  static override description =
    'With --release next, shows what the accepted release would still change here: during a hold, outside of windows, or for packages ' +
    'that wait for a confirmation.';
  static override examples = [
    '<%= config.bin %> diff',
    '<%= config.bin %> diff kiosk',
    '<%= config.bin %> diff --release next',
    '<%= config.bin %> diff --adopt',
    '<%= config.bin %> diff --json',
  ];
  static override args = {
    assignment: Args.string({ multiple: true, description: 'Only these packages' }),
  };

  static override flags = {
    release: Flags.string({
      options: ['current', 'next'],
      default: 'current',
      description: 'The applied packages, or those that the accepted release has still to apply',
    }),
    adopt: Flags.boolean({
      description:
        'What the packages find on the cluster without an owner of this fleet: whose it is, and what a takeover would change',
      exclusive: ['release'],
    }),
  };

  async run(): Promise<
    | { readonly packages: readonly PackageDrift[]; readonly drifted: boolean }
    | { readonly next: readonly NextChanges[] }
    | { readonly adoptions: readonly PackageAdoptions[] }
  > {
    const { flags, args } = await this.parse(Diff);
    if (flags.adopt) {
      const adoptions = await this.reading(
        flags,
        (agent) => lookAtAdoptions(agent, args.assignment),
        openToRead,
      );
      this.print(showAdoptions(adoptions));
      if (adoptions.some(isRefused)) process.exitCode = 8;
      return { adoptions };
    }
    if (flags.release === 'next') {
      const next = await this.reading(flags, (agent) => planNext(agent, args.assignment), openToRead);
      this.print(next.length === 0 ? 'Nothing is waiting: the accepted release runs here.' : showNext(next));
      if (next.length > 0) process.exitCode = 8;
      return { next };
    }
    const packages = await this.reading(flags, (agent) => lookAtDrift(agent, args.assignment), openToRead);
    const rows = packages.flatMap(({ assignment, drift, unchecked = [], error }) => [
      ...(error ? [[assignment, 'unreadable', `${error.code}: ${error.message}`]] : []),
      ...[...drift, ...unchecked].map(({ what, message }) => [assignment, what, message]),
    ]);
    this.print(
      rows.length === 0
        ? describeNoDifference(packages.length)
        : { head: ['PACKAGE', 'WHAT', 'DIFFERENCE'], rows },
    );
    if (rows.length > 0) process.exitCode = 8;
    return {
      packages,
      drifted: packages.some(({ drift, error }) => error !== undefined || drift.length > 0),
    };
  }
}

const isRefused = ({ adoptions, error }: PackageAdoptions): boolean =>
  error !== undefined || adoptions.some(({ verdict }) => verdict === 'refused');

const showAdoptions = (packages: readonly PackageAdoptions[]): Printed => {
  const rows = packages.flatMap(({ assignment, adoptions, error }) => [
    ...(error ? [[assignment, '', '', 'not planned', `${error.code}: ${error.message}`]] : []),
    ...adoptions.map(({ key, owner, verdict, ...found }) => [
      assignment,
      key,
      owner,
      verdict,
      describeChanges(found),
    ]),
  ]);
  if (rows.length === 0) return 'The packages find nothing on the cluster that they would take over.';
  return { head: ['PACKAGE', 'OBJECT', 'OWNER', 'IS', 'CHANGES'], rows };
};

/** Fields that one row names. */
const MAX_FIELDS = 8;

const describeChanges = ({
  changes,
  removes,
  managers,
  why,
}: Omit<Adoption, 'key' | 'owner' | 'verdict'>): string =>
  [
    changes.length > 0 ? `changes ${nameSome(changes, MAX_FIELDS)}` : '',
    removes.length > 0 ? `removes ${nameSome(removes, MAX_FIELDS)}` : '',
    managers.length > 0 ? `takes the fields of ${managers.join(', ')}` : '',
    changes.length + removes.length === 0 ? 'nothing of what it does changes' : '',
    why ?? '',
  ]
    .filter((part) => part !== '')
    .join('; ');

const describeNoDifference = (packages: number): string =>
  packages === 0
    ? 'Nothing was compared: this machine has no packages.'
    : `No difference in ${formatCount(packages, 'package')}.`;
