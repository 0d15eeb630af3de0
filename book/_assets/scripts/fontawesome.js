// The theme's icons come from its web font; its 1.5 MB script that draws them again stays out.
