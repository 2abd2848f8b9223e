/** '0644'. */
export const octal = (mode: number): string => mode.toString(8).padStart(4, '0');
