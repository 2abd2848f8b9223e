import type { Place } from '#bundles/errors';
import type { Labels } from '../model/model.ts';

/**
 * The content of an existing GitOps repository as plain data: clusters, and on each the units that its tool applies one by one. The
 * readers of all tools return it; writing and comparing know no tool.
 */
export type Imported = {
  /** In byte order of their names. */
  readonly clusters: readonly ImportedCluster[];
  readonly notes: readonly Note[];
};

export type ImportedCluster = {
  readonly name: string;
  readonly labels: Labels;
  readonly units: readonly Unit[];
};

/** Files that a tool fetches as one: a repository, or an artifact made from one. */
export type SourceTree = {
  /** Folder below `sources/` that its files are copied to. */
  readonly id: string;
  readonly files: ReadonlyMap<string, Buffer>;
  /** A file's name in messages. */
  readonly shown: (path: string) => string;
};

/** A set of objects that a tool applies, waits for and removes as a whole: a Kustomization, a HelmRelease, an Application, a bundle. */
export type Unit = {
  /** '<kind>/<namespace>/<name>': the same unit on another cluster has the same id. */
  readonly id: string;
  /** The name it has in its tool. */
  readonly name: string;
  readonly qualifier: string;
  /** '' where the tool bounds the unit by no project or tenant. */
  readonly workspace: string;
  readonly at: Place;
  /** The namespace of objects that name none, and of a Helm release. */
  readonly namespace: string;
  /** Ids of units of the same cluster that must be healthy first. */
  readonly dependsOn: readonly string[];
  readonly content: FolderContent | ChartContent | ObjectsContent;
  /** Annotations of ours that carry settings of the tool. */
  readonly annotations: readonly ObjectAnnotation[];
};

export type ObjectAnnotation = {
  readonly kind: string;
  readonly name: string;
  readonly set: Readonly<Record<string, string>>;
};

/** Values from the command line that the repository lacks. */
export type Given = {
  readonly variables: Readonly<Record<string, string>>;
  /** Exact version by the address of a chart. */
  readonly chartVersions: ReadonlyMap<string, string>;
};

/** A JSON object as manifests have it. */
export type Manifest = { readonly [field: string]: unknown };

export type FolderContent = {
  readonly kind: 'folder';
  readonly tree: SourceTree;
  readonly path: string;
  /** Fields of a kustomization that the tool lays over the folder. Without any, a folder without a kustomization stays plain. */
  readonly overlay: Manifest;
  /** Files of a folder without a kustomization, relative to the repository. */
  readonly listed: readonly string[] | undefined;
  /** `group/Kind` of objects that only the tool itself reads. */
  readonly dropped: readonly string[];
  /** Values that the tool puts into the text after rendering; undefined for none. */
  readonly variables: Readonly<Record<string, string>> | undefined;
  /** Files that the objects come from. */
  readonly used: readonly string[];
  /** The objects that the tool applies. */
  readonly objects: readonly Manifest[];
};

export type ChartSource =
  | { readonly from: 'tree'; readonly tree: SourceTree; readonly path: string }
  | { readonly from: 'elsewhere'; readonly chart: string; readonly version: string };

export type ChartContent = {
  readonly kind: 'chart';
  readonly chart: ChartSource;
  readonly releaseName: string;
  /** All values but the chart's own, merged as the tool does. */
  readonly values: Manifest;
  /** The objects that the tool applies; undefined for a chart that is elsewhere. */
  readonly objects: readonly Manifest[] | undefined;
};

/** Objects that a tool creates by a setting, and that no file of the repository has. */
export type ObjectsContent = { readonly kind: 'objects'; readonly objects: readonly Manifest[] };

/**
 * unmapped: not in the platform that was written. decide: written, and held until somebody decides. changed: written, and its meaning
 * differs. told: of no effect on objects.
 */
export type NoteKind = 'unmapped' | 'decide' | 'changed' | 'told';

export type Note = {
  readonly kind: NoteKind;
  readonly at: Place;
  /** 'HelmRelease podinfo/podinfo' */
  readonly subject: string;
  readonly what: string;
  readonly todo: string;
};
