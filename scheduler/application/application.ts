import type { Place } from '#bundles/errors';

/** The files of an application for one deployment target: what its manifests path holds, or what was rendered from it. */
export type Application = {
  /** Put before a path in messages. */
  readonly shown: string;
  /** Relative path to bytes, sorted bytewise. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** What a chart says of the images it runs, as it writes them. */
  readonly images?: readonly { readonly image: string; readonly at: Place }[];
  /** Written by Helm or Kustomize: how messages name the file that each was made from. Lines are those of what was made. */
  readonly madeFrom?: (path: string) => string;
};

/** How messages name a file of an application. */
export const showFile = ({ shown, madeFrom }: Application, path: string): string =>
  madeFrom ? `${madeFrom(path)} (rendered)` : `${shown}${path}`;
