import type { Place } from '#bundles/errors';
import type { Location } from '../../model/location.ts';
import type { SourceFile } from '../../load/sources/read-files.ts';

/** An object as a file has it, with or without mistakes. */
export type WrittenObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Path in the location of its layer. */
  readonly file: string;
  readonly at: Place;
};

/** A folder in which objects of a platform are written. */
export type Layer = {
  /** 'root' (fleet.yaml, or Kalypso's `.environments`), 'base', 'base/<BaseRepo>', 'promotion', 'environments/<name>' */
  readonly name: string;
  /** The environment whose own it is. */
  readonly environment: string | undefined;
  /** The environment that it gets everything shared from, once that was promoted. */
  readonly promotedFrom?: string | undefined;
  readonly form: 'fleet' | 'kalypso';
  readonly location: Location;
  /** In the location; '.' is all of it. */
  readonly folder: string;
  /** Precedes paths of the location in messages. */
  readonly prefix: string;
  /** YAML files of the layer; paths in the location. */
  readonly files: readonly SourceFile[];
  readonly objects: readonly WrittenObject[];
};
