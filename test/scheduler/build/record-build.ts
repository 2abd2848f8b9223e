import { isFleetError } from '#bundles/errors';
import { openOrStartLayout, referenceOf } from '#bundles/formats/layout/layout';
import type { BuildOutcome } from '../../../scheduler/build/build-outcome.ts';

/** Replaces what differs from one run to the next, or says nothing about the decision: digests, by the order of their appearance. */
const newLabels = () => {
  const labels = new Map<string, string>();
  return (text: string): string =>
    text.replaceAll(/(?:sha256:)?[0-9a-f]{64}|sha256:[0-9a-f]{12}/g, (found) => {
      const key = found.replace('sha256:', '').slice(0, 12);
      if (!labels.has(key)) labels.set(key, `d${labels.size + 1}`);
      return labels.get(key) ?? '';
    });
};

const plain = (value: unknown): unknown => {
  if (isFleetError(value)) {
    const { code, message, subject, hint } = value;
    return [code, message, subject, hint].filter((part) => part !== undefined).join(' | ');
  }
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([key, field]) => key !== 'at' && field !== undefined);
  return Object.fromEntries(fields.map(([key, field]) => [key, plain(field)]));
};

const indexOf = async (layout: string): Promise<ReadonlyMap<string, string>> => {
  const { manifests } = await openOrStartLayout(layout);
  return new Map(manifests.map((entry) => [referenceOf(entry) ?? '', entry.digest]));
};

/** Builds, and returns each channel's outcome field by field in their order, then each reference of the index that changed. */
export const recordBuild = async (
  layout: string,
  build: () => Promise<BuildOutcome>,
): Promise<readonly string[]> => {
  const label = newLabels();
  const before = await indexOf(layout);
  const { channels } = await build();
  const after = await indexOf(layout);
  const changes = [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((name) => {
    if (before.get(name) === after.get(name)) return [];
    if (!before.has(name)) return [`+ ${name}`];
    return [`${after.has(name) ? '~' : '-'} ${name}`];
  });
  const lines = channels.flatMap(({ environment, clusterType, ...rest }) => [
    `${environment}/${clusterType}`,
    ...Object.entries(rest)
      .filter(([, field]) => field !== undefined && JSON.stringify(field) !== '[]' && field !== 0)
      .map(([key, field]) => `  ${key} ${JSON.stringify(plain(field))}`),
  ]);
  return [...lines, ...changes].map(label);
};
