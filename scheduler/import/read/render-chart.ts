import type { Place } from '#bundles/errors';
import { renderHelm } from '../../load/applications/render-helm.ts';
import { writeObject } from '../../model/yaml/write-object.ts';
import type { ChartSource, Manifest } from '../imported.ts';
import { isObject, readManifests } from './manifests.ts';
import { noteFailure, type NoteBook } from './notes.ts';
import type { Rendering } from './render-folder.ts';

export type ChartToRender = {
  readonly chart: ChartSource;
  readonly releaseName: string;
  readonly namespace: string;
  readonly values: Manifest;
  readonly subject: string;
  readonly at: Place;
};

/** The objects that Helm renders from a chart of the repository; undefined for one that is elsewhere, 'failed' with a note. */
export const renderChart = async (
  { chart, releaseName, namespace, values, subject, at }: ChartToRender,
  { tools, signal }: Rendering,
  notes: NoteBook,
): Promise<readonly Manifest[] | undefined | 'failed'> => {
  if (chart.from === 'elsewhere') return undefined;
  try {
    const made = await renderHelm(
      {
        source: {
          kind: 'helm',
          chart: {
            from: 'repository',
            files: filesBelow(chart.tree.files, chart.path),
            shown: chart.tree.shown(`${chart.path}/`),
          },
          values: [{ shown: subject, bytes: Buffer.from(writeObject(values)) }],
          configUnder: undefined,
          releaseName,
          hooks: 'keep',
        },
        archive: undefined,
        namespace,
        kubernetes: KUBERNETES,
        apiVersions: [],
        config: {},
        varies: 'no',
        subject,
      },
      await tools('helm', subject),
      signal,
    );
    return [...made.files].flatMap(([path, bytes]) =>
      readManifests(path, path, bytes).flatMap(({ value }) => (isObject(value) ? [value] : [])),
    );
  } catch (error) {
    noteFailure(error, at, subject, notes);
    return 'failed';
  }
};

/** As for cluster types that require no version. */
const KUBERNETES = 'v1.30.0';

export const filesBelow = (files: ReadonlyMap<string, Buffer>, folder: string): ReadonlyMap<string, Buffer> =>
  new Map(
    [...files].flatMap(([path, bytes]) =>
      folder === '.' || path.startsWith(`${folder}/`)
        ? [[folder === '.' ? path : path.slice(folder.length + 1), bytes] as const]
        : [],
    ),
  );
