import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Channel } from '#bundles/names';
import { readDocuments } from './artifact.ts';
import { siteLayersReference } from './references.ts';
import { decodeSiteLayers, type ReleasedLayers } from './site-layers-document.ts';

/** The layers for sites of an environment, as the statement about a bundle names them. @throws FleetError MISSING_BLOB; the codes of decodeSiteLayers */
export const readSiteLayers = async (
  layout: Layout,
  { environment }: Pick<Channel, 'environment'>,
  digest: Digest,
): Promise<ReleasedLayers> =>
  decodeSiteLayers(await readLayersFile(layout, environment, digest), layersOf(environment));

const layersOf = (environment: string): string => `the layers for sites of ${environment}`;

/** The bytes of the same document. @throws FleetError MISSING_BLOB */
export const readLayersFile = async (
  layout: Layout,
  environment: string,
  digest: Digest,
): Promise<Buffer> => {
  const documents = await readDocuments(layout, siteLayersReference(environment, digest));
  const document = documents.find((one) => one.digest === digest);
  if (!document)
    throw new FleetError('MISSING_BLOB', `${layersOf(environment)} are not in ${layout.directory}`, {
      hint: 'Run fleet-scheduler build, or restore the layout from a backup',
    });
  return readBlob(layout.blobs, digest, document.size);
};
