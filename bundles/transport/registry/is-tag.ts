/** OCI distribution spec 1.1, "Pulling manifests": a tag. */
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

export const isTag = (text: unknown): text is string => typeof text === 'string' && TAG.test(text);
