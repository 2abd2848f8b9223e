import { compareBytes } from '../digest.ts';
import { type Channel, isName } from '../names.ts';
import { type Layout, referenceOf } from './layout.ts';

const RELEASE = /^([^/]+)\/([^/]+):release$/;

/** Channels that have a release in a layout, sorted by name. */
export const releasedChannels = ({ manifests }: Layout): readonly Channel[] =>
  manifests
    .map((descriptor) => referenceOf(descriptor) ?? '')
    .toSorted(compareBytes)
    .flatMap((reference): Channel[] => {
      const [, environment, clusterType] = RELEASE.exec(reference) ?? [];
      return isName(environment) && isName(clusterType) ? [{ environment, clusterType }] : [];
    });
