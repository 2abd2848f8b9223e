import type { FleetError, Place } from '#bundles/errors';

/**
 * The files of an application for one deployment target: the contents of its manifests path, or what was rendered from it.
 */
export type Application = {
  /** Prefix of paths in messages. */
  readonly shown: string;
  /** Relative path -> bytes, sorted bytewise. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** The images that a chart declares, as the chart writes them. */
  readonly images?: readonly { readonly image: string; readonly at: Place }[];
  /**
   * Only for output of Helm or Kustomize: the name in messages of the file that each was rendered from. Line numbers refer
   * to the output.
   */
  readonly madeFrom?: (path: string) => string;
  /** Only for output of Helm: what of the chart has another meaning where no Helm runs (CHART_FROZEN). */
  readonly advice?: readonly FleetError[];
};

/** Name of an application's file in messages. */
export const showFile = ({ shown, madeFrom }: Application, path: string): string =>
  madeFrom ? `${madeFrom(path)} (rendered)` : `${shown}${path}`;
