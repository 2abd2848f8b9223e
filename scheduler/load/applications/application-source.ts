import type { SourceSnapshot } from '../../model/model.ts';
import type { Application } from './application.ts';
import type { ChartReference, Hooks } from '../charts/manifest-settings.ts';

/** Files by their path in the repository. */
export type Tree = ReadonlyMap<string, Buffer>;

/** An application as it is in its repository, before rendering. */
export type ApplicationSource =
  | { readonly kind: 'plain'; readonly application: Application }
  | KustomizeSource
  | HelmSource;

export type KustomizeSource = {
  readonly kind: 'kustomize';
  /** The folder to build; `tree` also holds the other folders that its kustomizations name. */
  readonly folder: string;
  readonly tree: Tree;
  /** Name of a file of the tree in messages. */
  readonly shown: (file: string) => string;
};

export type HelmSource = {
  readonly kind: 'helm';
  readonly chart:
    | { readonly from: 'repository'; readonly files: Tree; readonly shown: string }
    | { readonly from: 'elsewhere'; readonly reference: ChartReference };
  /** In ascending precedence. */
  readonly values: readonly { readonly shown: string; readonly bytes: Buffer }[];
  readonly configUnder: readonly string[] | undefined;
  readonly releaseName: string;
  readonly hooks: Hooks;
};

export type ReadApplication = {
  readonly source: ApplicationSource;
  readonly snapshots: readonly SourceSnapshot[];
};
