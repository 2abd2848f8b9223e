/**
 * How a cluster type's reconciler comes to the application, by the name of its Template (docs/reconcilers.md): our agent
 * and Zarf take the bundle, those named *-oci pull it from the registry, all others fetch the application themselves.
 */
export const takesBundle = (reconciler: string): boolean =>
  reconciler === 'fleet' || reconciler === 'zarf' || pullsBundle(reconciler);

/** Does it follow the tag `bundle` of the channel? Then reconciler.yaml says how, and is no part of what it says. */
export const pullsBundle = (reconciler: string): boolean => reconciler.endsWith('-oci');

/** Is reconciler.yaml an object that our agent applies with the rest of the package? */
export const isPartOfPackage = (reconciler: string): boolean =>
  reconciler === 'fleet' || !takesBundle(reconciler);

/** A playbook is a list of plays: something for Ansible, which no API server takes. */
export const isPlaybook = (bytes: Buffer): boolean =>
  /^(?:\s*(?:#.*|---\s*)?\n)*- /.test(bytes.toString('utf8'));
