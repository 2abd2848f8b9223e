import type { Table } from '#cli/format-table';
import { nameSome } from '#bundles/name-some';
import type { ImportResult } from '../daemon/import-medium.ts';
import type { PackageResult } from '../apply/package-result.ts';

/** The result of each package, for people. */
export const showPackages = (packages: readonly PackageResult[]): Table => ({
  head: ['PACKAGE', 'OUTCOME', 'REASON'],
  rows: packages.map(({ assignment, outcome, code, message, rolledBack }) => [
    assignment,
    rolledBack ? `${outcome}, rolled back` : outcome,
    [code, message].filter((part) => part !== undefined).join(': '),
  ]),
});

/** Why nothing runs here: the agent's channel has no release yet, or not on this medium. */
export const showMissing = ({ channel, offered }: NonNullable<ImportResult['missing']>): string =>
  offered.length === 0
    ? `This machine follows ${channel}, and has not received a release of it yet: import a medium that has one.`
    : `This machine follows ${channel}, and the medium has no release of it: it has ${nameSome(offered)}. If the channel is wrong, the office gives it another one: fleet-scheduler sites set --channel.`;

/** 7: a package failed. 8: something is held back and needs a look. */
export const exitCodeOf = (packages: readonly PackageResult[]): 0 | 7 | 8 => {
  if (packages.some(({ outcome }) => outcome === 'failed')) return 7;
  return packages.some(({ outcome }) => outcome === 'skipped') ? 8 : 0;
};
