/** The role of what is an environment's own: its folder, or its branch. */
export const layerRole = (environment: string): string => `environment/${environment}`;
