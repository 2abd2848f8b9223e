import { parse } from 'yaml';
import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { readGivenFile } from '#bundles/read-given-file';
import type { Labels, LabelSelector } from '../../model/model.ts';
import { matchLabels } from '../../model/selectors/match-labels.ts';
import type { Manifest } from '../imported.ts';
import { listAt, textAt, textsAt } from './manifests.ts';

/** A cluster that generators and targets select by its labels. */
export type KnownCluster = {
  readonly name: string;
  /** '' if it is not known. */
  readonly server: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly values: Labels;
  /** Fleet's cluster groups that name it. */
  readonly groups: readonly string[];
};

/**
 * Reads `--clusters`: a list of clusters, each with `name`, and `server`, `labels`, `annotations`, `groups`.
 * @throws FleetError USAGE, CONFIG_INVALID, PERMISSION, IO
 */
export const readClustersFile = async (file: string): Promise<readonly KnownCluster[]> => {
  const text = await readGivenFile(file, 'clusters');
  const listed = readYamlList(text);
  const clusters = listed.filter(isRecord).map(toCluster);
  if (clusters.length > 0 && clusters.length === listed.length && clusters.every(({ name }) => name !== ''))
    return clusters;
  throw new FleetError('USAGE', `${file} is not a list of clusters`, {
    hint: 'Write it like - {name: plant-7, labels: {env: prod}}',
  });
};

const readYamlList = (text: string): readonly unknown[] => {
  try {
    const read: unknown = parse(text);
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
};

const toCluster = (one: Manifest): KnownCluster => ({
  name: textAt(one, 'name') ?? '',
  server: textAt(one, 'server') ?? '',
  labels: textsAt(one, 'labels'),
  annotations: textsAt(one, 'annotations'),
  values: textsAt(one, 'values'),
  groups: listAt(one, 'groups').filter((group) => typeof group === 'string'),
});

/** Whether labels meet a Kubernetes label selector as it is written. An absent one matches all. */
export const meetsSelector = (selector: unknown, labels: Labels): boolean =>
  matchLabels(toSelector(selector), labels);

const toSelector = (selector: unknown): LabelSelector => ({
  matchLabels: textsAt(selector, 'matchLabels'),
  matchExpressions: listAt(selector, 'matchExpressions').map((one) => ({
    key: textAt(one, 'key') ?? '',
    operator: (textAt(one, 'operator') ?? 'In') as LabelSelector['matchExpressions'][number]['operator'],
    values: listAt(one, 'values').filter((value) => typeof value === 'string'),
  })),
});
